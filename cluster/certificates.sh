#!/bin/sh
# Make a certificate authority, and a certificate for scheduler, workers and clients each.
#
#     sh cluster/certificates.sh FOLDER
#
# Who has a certificate of this authority may run anything on the cluster: keep the keys.
set -eu
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
folder=${1:?usage: certificates.sh FOLDER}
umask 077
mkdir -p "$folder"
cd "$folder"
openssl req -x509 $key -days 365 -subj "/CN=dcsvm authority" \
    -keyout authority-key.pem -out authority.pem
for who in scheduler worker client; do
    openssl req $key -subj "/CN=dcsvm $who" -keyout "$who-key.pem" -out request.pem
    openssl x509 -req -in request.pem -days 365 -CA authority.pem -CAkey authority-key.pem \
        -CAcreateserial -out "$who.pem"
done
rm request.pem authority.srl
