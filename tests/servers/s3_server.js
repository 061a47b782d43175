// The S3 server of the tests: FOLDER PORT BUCKET ACCESS_KEY SECRET_KEY [CERTIFICATE KEY]. Ends when it is killed.
const crypto = require("node:crypto");
const fs = require("node:fs");
const S3rver = require("@20minutes/s3rver");
const { DUMMY_ACCOUNT } = require("@20minutes/s3rver/lib/models/account");

// It hides the tokens of lists by DES, which OpenSSL 3 has no more. No test looks into a token.
const createCipheriv = crypto.createCipheriv;
crypto.createCipheriv = (algorithm, key, iv) =>
  algorithm === "des" ? createCipheriv("aes-128-cbc", Buffer.concat([key, key]), Buffer.concat([iv, iv])) : createCipheriv(algorithm, key, iv);

const [directory, port, bucket, accessKey, secretKey, certificate, key] = process.argv.slice(2);
fs.mkdirSync(directory, { recursive: true });
DUMMY_ACCOUNT.createKeyPair(accessKey, secretKey);
const tls = key === undefined ? {} : { cert: fs.readFileSync(certificate), key: fs.readFileSync(key) };
new S3rver({
  address: "127.0.0.1",
  port: Number(port),
  silent: true,
  directory,
  vhostBuckets: false,
  configureBuckets: [{ name: bucket }],
  ...tls,
})
  .run()
  .catch((error) => {
    console.error(error);
    process.exit(1);
  });
