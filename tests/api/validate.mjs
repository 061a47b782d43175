// Checks the OpenAPI document on standard input; says what is wrong with it and ends with 1.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.NODE_PATH + "/");
const { Validator } = await import(pathToFileURL(require.resolve("@seriousme/openapi-schema-validator")));
const result = await new Validator().validate(JSON.parse(readFileSync(0, "utf8")));
if (!result.valid) {
  console.log(JSON.stringify(result.errors, null, 2));
  process.exit(1);
}
