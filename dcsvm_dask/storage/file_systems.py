"""What kind of file system a folder lies on."""

from __future__ import annotations

from pathlib import Path

import psutil

OF_ONE_HOST = {
    *("apfs", "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfs", "hfs+", "jfs"),
    *("ntfs", "ntfs3", "overlay", "ramfs", "reiserfs", "rootfs", "squashfs", "tmpfs", "vfat"),
    *("xfs", "zfs"),
}
"""Types of file systems that one host alone mounts; of all others, such as NFS, SMB, Lustre or
FUSE, several may, each with a memory of its own for what folders hold."""


def is_shared(folder: str) -> bool:
    """Return whether other hosts may have the same folder mounted; True where nobody knows."""
    path = Path(folder).resolve()
    above = {str(path), *map(str, path.parents)}
    try:
        mounts = [part for part in psutil.disk_partitions(all=True) if part.mountpoint in above]
    except (OSError, RuntimeError):
        return True
    if not mounts:
        return True
    return max(mounts, key=lambda part: len(part.mountpoint)).fstype.lower() not in OF_ONE_HOST
