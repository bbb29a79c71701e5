"""Files of compiled kernels: which folder holds them, which are taken, what is made again."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import resource
import stat
import sys
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from cudakern.__main__ import main
from cudakern.compilation import cache
from cudakern.compilation.cache import cache_folder, find_file, keep_hint, make, report_exhaustion
from cudakern.errors import CacheWarning, EngineUnavailableError
from tests.helpers.processes import printed
from tests.helpers.rows import each

NAME = f"kernel-{'0' * 32}.so"
OTHER = NAME.replace("0", "1")
CONTENT = bytes(range(256)) * 100
#: Another user and another group.
SOMEBODY = 4242


def put(name=NAME, content=CONTENT):
    """Make a file."""
    return make(name, lambda folder, _: (folder / name).write_bytes(content)).path


def forget():
    """Go on as a new process: without a folder of its own, and a warning that was given."""
    cache._process_folders.clear()  # noqa: SLF001
    cache._warned.clear()  # noqa: SLF001


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch):
    monkeypatch.setattr(cache, "_process_folders", [])
    monkeypatch.setattr(cache, "_warned", set())
    monkeypatch.delenv("CUDAKERN_CACHE_SHARED", raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder that is asked for."""
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path / "above" / "cache"))
    return cache_folder()


@pytest.fixture
def homeless(tmp_path, monkeypatch):
    """Make the home folder unwritable; return the folder that should serve in its place."""
    (tmp_path / "home").touch()
    (tmp_path / "tmp").mkdir()
    for variable in ("CUDAKERN_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp" / f"cudakern-{os.getuid()}"


@pytest.fixture
def give(monkeypatch):
    """Return a function that gives a path to somebody; without the right to, it looks given."""
    given = {}

    def give(path, user=SOMEBODY, group=-1):
        if os.getuid() == 0:
            os.chown(path, user, group, follow_symlinks=False)
        else:
            status = path.lstat()
            given[status.st_ino] = user, status.st_gid if group == -1 else group

    def of_somebody(look):
        def looked(*path, **options):
            status = look(*path, **options)
            if status.st_ino not in given:
                return status
            return os.stat_result((*status[:4], *given[status.st_ino], *status[6:]))

        return looked

    for name in ("stat", "lstat", "fstat"):
        monkeypatch.setattr(os, name, of_somebody(getattr(os, name)))
    return give


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_cache_below_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("CUDAKERN_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "cudakern"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "cudakern"


def test_without_a_home_folder_the_temporary_one_serves(homeless, monkeypatch):
    def unknown(uid):
        raise KeyError(uid)

    assert cache_folder() == homeless  # the home is a file
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert cache_folder() == homeless
    assert mode_of(homeless) == 0o700


@each("value", ["~nobody-of-this-name/cache", "relative"])
def test_a_name_that_leads_nowhere(monkeypatch, tmp_path, value):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", value)
    with pytest.raises(EngineUnavailableError, match=f"must name a folder; got '{value}': ."):
        cache_folder()


@each("mask", [0, 0o077, 0o002])
def test_modes_do_not_depend_on_the_mask(monkeypatch, tmp_path, mask):
    above = tmp_path / f"above {mask}"
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(above / "cache"))
    before = os.umask(mask)
    try:
        path = put()
    finally:
        os.umask(before)
    assert mode_of(path) == 0o644
    assert mode_of(above) == mode_of(above / "cache") == 0o700


def test_a_file_is_on_the_disk_before_it_has_its_name(folder, monkeypatch):
    order, fsync, replace = [], os.fsync, Path.replace

    def synchronise(descriptor):
        order.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    def rename(self, target):
        order.append("rename")
        replace(self, target)

    monkeypatch.setattr(os, "fsync", synchronise)
    monkeypatch.setattr(Path, "replace", rename)
    path = put()
    built, *rest = order
    assert Path(built).name == NAME
    assert rest == ["rename", str(folder)]
    assert find_file(NAME).path == path
    assert find_file(NAME).content == CONTENT


def zero_page(path):
    data = path.read_bytes()
    path.write_bytes(data[:4096] + bytes(4096) + data[8192:])


def replaced(make):
    def damage(path):
        path.unlink()
        make(path)

    return damage


def grow(path):
    """Make a file larger than memory, which holds nothing."""
    os.truncate(path, 1 << 42)


DAMAGES = {
    **{
        f"cut to {size}": lambda path, size=size: os.truncate(path, size)
        for size in (0, 1, 4096, 8192, 12288, len(CONTENT) // 2, len(CONTENT))
    },
    "a page of zeros": zero_page,
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "huge": grow,
    "another's": replaced(lambda path: put(OTHER).rename(path)),
    "of another program": lambda path: path.write_bytes(Path(sys.executable).read_bytes()[:9999]),
    "absent": Path.unlink,
    "a folder": replaced(Path.mkdir),
    "a folder with files": replaced(lambda path: (path / "a/b").mkdir(parents=True)),
    "a link": lambda path: path.symlink_to(path.rename(path.with_name("whole"))),
    "a link to nothing": replaced(lambda path: path.symlink_to("nothing")),
    "a link to itself": replaced(lambda path: path.symlink_to(path.name)),
    "a pipe": replaced(os.mkfifo),
}


@each("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_is_not_whole_is_made_again(folder, damage):
    path = put()
    assert find_file(NAME).content == CONTENT
    damage(path)
    assert find_file(NAME) is None
    assert put() == path
    assert find_file(NAME).content == CONTENT
    assert not list(folder.glob("build-*"))


@each("name", [f"a b\n'\"$-{'0' * 32}.so", f"\udcff\udcfe-{'0' * 32}.ptx"])
def test_names_of_folders_need_not_be_text(tmp_path, monkeypatch, name):
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path / name))
    assert put().parent == tmp_path / name
    assert find_file(NAME).content == CONTENT
    (tmp_path / name).chmod(0o777)
    with pytest.warns(CacheWarning) as told:
        assert find_file(NAME) is None
    assert str(told[0].message).isprintable()


@each("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN])
def test_a_file_is_not_to_blame_for_what_the_process_lacks(folder, monkeypatch, number):
    path = put()

    def fail(*_):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fail)
        with pytest.raises(EngineUnavailableError) as caught, report_exhaustion():
            find_file(NAME)
    assert str(caught.value) == (
        "cudakern: the process must be able to open files and start programs; got: "
        + os.strerror(number)
    )
    assert find_file(NAME).path == path
    assert [*folder.iterdir()] == [path]
    with pytest.raises(FileNotFoundError), report_exhaustion():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def test_a_file_that_the_disk_does_not_take(folder):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(CONTENT) // 2, before[1]))
    try:
        with pytest.raises(EngineUnavailableError) as caught:
            put()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    message = f"cudakern: compiled kernels must be written to {folder}; File too large"
    assert str(caught.value) == message
    assert not [*folder.iterdir()]


def assert_not_used(folder, reason):
    """Check that nothing is loaded from a folder, that one warning says so, and that all works."""
    forget()
    before = {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}

    def use():
        assert find_file(NAME) is None
        path = put()
        assert find_file(NAME).path == path
        return path

    with pytest.warns(CacheWarning) as told:
        path = use()
    assert len(told) == 1
    message = str(told[0].message)
    assert message.startswith("cudakern: the cache folder must be ")
    assert reason in message
    assert "set CUDAKERN_CACHE_DIR to another folder" in message
    assert path.parent != folder
    assert mode_of(path.parent) == 0o700
    assert path.parent.stat().st_uid == os.geteuid()
    forget()
    if folder.is_dir():
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@each("mode", [0o777, 0o1777, 0o770, 0o707])
def test_a_folder_that_others_can_write_is_not_used(folder, mode):
    put()
    folder.chmod(mode)
    assert_not_used(folder, f"{folder} can be written by ")
    folder.chmod(0o700)
    if not mode & 0o1000:
        folder.parent.chmod(mode)
        assert_not_used(folder, f"{folder.parent} can be written by ")
    folder.parent.chmod(0o1777)  # nobody else can rename its entries
    assert find_file(NAME).path.parent == folder


@each("above", [False, True])
def test_a_folder_of_somebody_else_is_not_used(folder, give, above):
    put()
    given = folder.parent if above else folder
    give(given)
    assert_not_used(folder, "belongs to user ")
    give(given, os.getuid())


@pytest.mark.parametrize("named", [False, True])
def test_a_link_of_somebody_else_is_not_followed(homeless, give, monkeypatch, tmp_path, named):
    put()
    homeless.rename(tmp_path / "elsewhere")
    link = homeless.with_name("link") if named else homeless
    link.symlink_to("../elsewhere")
    if named:
        monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(link))
    assert find_file(NAME).path == link / NAME
    give(link)
    assert_not_used(link, "belongs to user ")


def test_links_that_lead_through_a_folder_of_others(folder, monkeypatch, tmp_path):
    put()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "open" / "there").symlink_to(f"{folder.parent}/../above")
    (tmp_path / "link").symlink_to(tmp_path / "open" / "there" / "cache")
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path / "link"))
    assert_not_used(tmp_path / "link", f"{tmp_path}/open can be written by everybody")
    (tmp_path / "open").chmod(0o755)
    assert find_file(NAME).path == tmp_path / "link" / NAME


@each("target", ["itself", "nothing/there"])
def test_a_link_that_leads_nowhere(monkeypatch, tmp_path, target):
    (tmp_path / "itself").unlink(missing_ok=True)
    (tmp_path / "itself").symlink_to(target)
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(tmp_path / "itself"))
    assert_not_used(tmp_path / "itself", f"{tmp_path}/itself: Not a directory")


@each("how", ["mode 0777", "mode 0664", "owner"])
def test_a_file_that_somebody_else_could_have_written_is_made_again(folder, give, how):
    forget()
    path = put()
    if how == "owner":
        give(path)
    else:
        path.chmod(int(how.split()[1], 8))
    with pytest.warns(CacheWarning, match=f"files in the cache folder .*{NAME} (can|belongs)"):
        assert find_file(NAME) is None
    assert put() == path
    assert mode_of(path) == 0o644
    assert find_file(NAME).path.stat().st_uid == os.geteuid()
    assert folder.is_dir()


def test_the_group_of_one_user_may_write_above(folder, give, monkeypatch):
    put()
    give(folder.parent, os.getuid(), SOMEBODY)
    folder.parent.chmod(0o775)
    members = []
    user = SimpleNamespace(pw_name="me", pw_gid=SOMEBODY)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    monkeypatch.setattr(grp, "getgrgid", lambda _: SimpleNamespace(gr_name="me", gr_mem=members))
    assert find_file(NAME).path.parent == folder
    members.append("somebody")
    assert_not_used(folder, f"{folder.parent} can be written by group {SOMEBODY}")


def test_a_group_that_is_trusted(folder, give, monkeypatch):
    path = put()
    monkeypatch.setenv("CUDAKERN_CACHE_SHARED", "group")
    for shared in (folder, path):
        give(shared, group=os.getegid())
    folder.chmod(0o2770)
    assert find_file(NAME).path == path
    given = []
    monkeypatch.setattr(os, "fchown", lambda _file, *owner: given.append(owner))
    assert put(OTHER).parent == folder
    assert given == [(-1, folder.stat().st_gid)]
    folder.chmod(0o2777)
    assert_not_used(folder, f"{folder} can be written by everybody")


def test_a_group_is_trusted_with_the_folder_that_is_named_alone(homeless, give, monkeypatch):
    homeless.mkdir()
    give(homeless)
    monkeypatch.setenv("CUDAKERN_CACHE_SHARED", "group")
    homeless.chmod(0o770)
    assert_not_used(homeless, f"{homeless} belongs to user ")


def test_whom_to_trust_is_one_word(monkeypatch):
    monkeypatch.setenv("CUDAKERN_CACHE_SHARED", "all")
    with pytest.raises(EngineUnavailableError) as caught:
        find_file(NAME)
    assert str(caught.value) == (
        "cudakern: CUDAKERN_CACHE_SHARED must be 'group' or unset; got 'all'"
    )


@pytest.fixture(params=["not writable", "Permission denied"])
def read_only(request, folder, monkeypatch):
    """Return a folder with a file that cannot be written, as it shows at once or when written."""
    put()
    folder.chmod(0o555)
    if request.param == "not writable":
        access = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: path != folder and access(path, mode))
    else:
        make = tempfile.mkdtemp

        def refuse(prefix, dir):  # noqa: A002  as it is called
            if dir == folder:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return make(prefix=prefix, dir=dir)

        monkeypatch.setattr(os, "access", lambda _path, _mode: True)
        monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    yield folder, request.param
    folder.chmod(0o755)


def test_a_folder_that_holds_all_need_not_be_writable(read_only):
    folder, reason = read_only
    assert find_file(NAME).path.parent == folder
    with pytest.warns(CacheWarning) as told:
        path = put(OTHER)
    assert put(OTHER) == path
    assert len(told) == 1
    assert str(told[0].message) == (
        "cudakern: the cache folder must be writable to keep kernels for other processes; "
        f"{folder}: {reason}: set CUDAKERN_CACHE_DIR to another folder"
    )
    assert find_file(OTHER).path == path
    assert find_file(NAME).path.parent == folder


def test_no_folder_at_all(homeless, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(homeless.parent / "absent"))
    monkeypatch.setenv("CUDAKERN_CACHE_DIR", str(homeless.parent / "file"))
    (homeless.parent / "file").touch()
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **_: (homeless / "a" / "b").mkdir())
    with pytest.raises(EngineUnavailableError, match="must be written to a folder; No such file"):
        put()


def test_the_folder_of_a_process_goes_with_it(tmp_path):
    (tmp_path / "file").touch()
    program = """
import os, sys, warnings
from cudakern.compilation.cache import find_file
from tests.compilation.test_cache import NAME, CONTENT, OTHER, put
warnings.simplefilter("ignore")
path = put()
if os.fork() == 0:
    assert find_file(NAME).path == path
    put(OTHER)
    sys.exit()
assert os.wait()[1] == 0
assert find_file(NAME).content == find_file(OTHER).content == CONTENT
print(path)
"""
    path = Path(printed(program, CUDAKERN_CACHE_DIR=str(tmp_path / "file")).strip())
    assert path.name == NAME
    assert path.parent.name.startswith("cudakern-process-")
    assert not path.parent.exists()


def test_a_folder_of_the_process_that_is_gone_is_made_again(folder):
    folder.chmod(0o777)
    with pytest.warns(CacheWarning):
        path = put()
    path.unlink()
    path.parent.rmdir()
    assert find_file(NAME) is None
    assert put().parent not in {path.parent, folder}


def test_a_warning_that_is_an_error_is_raised_once(folder):
    folder.chmod(0o777)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CacheWarning):
            put()
        assert put().parent != folder


def test_what_killed_processes_have_left_is_swept(folder):
    old, new, others = (folder / f"build-cudakern-{word}" for word in ("old", "new", "others"))
    for path in (old, new, folder / "build-mine", others):
        path.mkdir()
        (path / "kernel.cpp").touch()
        if path != new:
            os.utime(path, (0, 0))
    others.rename(folder / "others")
    others.symlink_to("others")
    put()
    assert {path.name for path in folder.iterdir()} == {
        *(NAME, new.name, "build-mine", "others", others.name)
    }
    assert (others / "kernel.cpp").exists()


def test_clearing_deletes_what_is_of_the_cache_alone(folder, capsys, tmp_path):
    put()
    put(OTHER)
    keep_hint(noted := f"headers-cudart-{'b' * 32}.txt", b"/include")
    assert find_file(noted).content == b"/include"
    (folder / f"k-sm_90-{'a' * 32}.cubin").mkdir()
    (folder / "build-cudakern-a").mkdir()
    (folder / "build-cudakern-a" / "kernel.cpp").write_bytes(bytes(50))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    (folder / f"compiler-cudakern-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    others = {"notes.txt", f"{'0' * 32}", f"k-{'0' * 32}.c", "build-mine", "kernel.so"}
    for name in others:
        (folder / name).touch()
    size = 2 * (folder / NAME).stat().st_size + (folder / noted).stat().st_size + 50
    size += (folder / f"compiler-cudakern-{os.getuid()}").lstat().st_size
    assert main(["clear-cache"]) == 0
    assert capsys.readouterr().out == f"{folder}: 5 files of {size} bytes deleted\n"
    assert {path.name for path in folder.iterdir()} == others
    assert (tmp_path / "elsewhere" / "file").exists()
    assert main(["clear-cache"]) == 0
    assert capsys.readouterr().out == f"{folder}: 0 files of 0 bytes deleted\n"


def test_clearing_leaves_a_folder_alone_that_is_not_trusted(folder, capsys):
    path = put()
    folder.chmod(0o777)
    assert main(["clear-cache"]) == 1
    left = f"left: {folder} can be written by everybody"
    assert capsys.readouterr().out == f"{folder}: 0 files of 0 bytes deleted; {left}\n"
    assert path.exists()
