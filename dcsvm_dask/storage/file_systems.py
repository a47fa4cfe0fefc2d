"""The type of the file system of a folder."""

from __future__ import annotations

from pathlib import Path

import psutil

OF_ONE_HOST = {
    *("apfs", "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfs", "hfs+", "jfs"),
    *("ntfs", "ntfs3", "overlay", "ramfs", "reiserfs", "rootfs", "squashfs", "tmpfs", "vfat"),
    *("xfs", "zfs"),
}
"""File systems that only one host mounts. Others, such as NFS, SMB, Lustre or FUSE, may be mounted
by several, each with its own cache of folders."""


def is_shared(folder: str) -> bool:
    """Return whether other hosts may mount the same folder; True if it is unknown."""
    path = Path(folder).resolve()
    above = {str(path), *map(str, path.parents)}
    try:
        mounts = [part for part in psutil.disk_partitions(all=True) if part.mountpoint in above]
    except (OSError, RuntimeError):
        return True
    if not mounts:
        return True
    return max(mounts, key=lambda part: len(part.mountpoint)).fstype.lower() not in OF_ONE_HOST
