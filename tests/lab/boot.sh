#!/bin/sh
# boot.sh ROOT SCRATCH COMMAND [ARGUMENT...]: inside new mount and process namespaces, mount a copy of
# ROOT at SCRATCH/root that can be written to and costs nothing, and become COMMAND. What is written
# stays in memory, and all of it is gone with the last process. No file named in $HIDE can be opened.
set -eu
root=$1 scratch=$2
shift 2
mount -t tmpfs -o mode=755 scratch "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
mount -t overlay -o "lowerdir=$root,upperdir=$scratch/upper,workdir=$scratch/work" overlay "$scratch/root"
mount -t proc proc "$scratch/root/proc"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$scratch/root/dev/pts"
mknod "$scratch/nothing" c 0 0
for path in ${HIDE:-}; do
	mount --bind "$scratch/nothing" "$scratch/root$path"
done
exec "$@"
