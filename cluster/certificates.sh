#!/bin/sh
# Make a certificate authority, and a certificate for scheduler, workers and clients each.
#
#     sh cluster/certificates.sh [FOLDER [SCHEDULER-HOST...]]
#
# FOLDER is by default ~/.config/dcsvm/certificates; a folder inside a Git checkout is refused, so
# that no key gets into a commit or an image. Hosts are names or addresses of the scheduler that its
# certificate names besides dcsvm-scheduler. Who has a certificate of this authority may run anything
# on the cluster: keep the keys.
set -eu
folder=${1:-${XDG_CONFIG_HOME:-$HOME/.config}/dcsvm/certificates}
[ $# -eq 0 ] || shift
days=365
umask 077

mkdir -p "$folder"
cd "$folder"
if git rev-parse --show-toplevel >/dev/null 2>&1; then
    rmdir "$PWD" 2>/dev/null || true # empty: made just now
    echo "certificates.sh: $folder lies in a Git checkout; name a folder outside of it" >&2
    exit 2
fi
for file in authority scheduler worker client; do
    for file in "$file.pem" "$file-key.pem"; do
        [ ! -e "$file" ] || {
            echo "certificates.sh: $folder has $file already; name another folder, or move what" \
                "is there away: processes that trust the old authority refuse a new one's" >&2
            exit 2
        }
    done
done

# Everything is made beside, so that a script that is interrupted leaves nothing half made.
made=$(mktemp -d "$PWD/making.XXXXXX")
trap 'rm -rf "$made"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$made"

# What a certificate is for. A scheduler and a worker are server and client: they listen, and they
# connect to others. A client only connects, so its certificate cannot pose as a scheduler.
names="DNS:dcsvm-scheduler"
for host in "$@"; do
    case $host in
        *[!0-9.]*) case $host in *:*) names="$names,IP:$host" ;; *) names="$names,DNS:$host" ;; esac ;;
        *) names="$names,IP:$host" ;;
    esac
done
leaf="basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid"
cat >openssl.cnf <<END
[req]
distinguished_name = nothing
[nothing]
[authority]
basicConstraints = critical, CA:true, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[scheduler]
$leaf
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = $names
[worker]
$leaf
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = DNS:dcsvm-worker
[client]
$leaf
extendedKeyUsage = clientAuth
subjectAltName = DNS:dcsvm-client
END

key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
openssl req -config openssl.cnf -x509 -extensions authority $key -sha256 -days "$days" \
    -subj "/CN=dcsvm authority" -keyout authority-key.pem -out authority.pem
for who in scheduler worker client; do
    openssl req -config openssl.cnf $key -sha256 -subj "/CN=dcsvm $who" \
        -keyout "$who-key.pem" -out request.pem
    openssl x509 -req -in request.pem -sha256 -days "$days" -CA authority.pem \
        -CAkey authority-key.pem -set_serial "0x$(openssl rand -hex 16)" \
        -extfile openssl.cnf -extensions "$who" -out "$who.pem"
done
rm request.pem openssl.cnf
for file in *.pem; do
    ln "$file" ../ # which never replaces a file
done
echo "$folder: authority.pem for everybody, a certificate and a key for each kind of process"
