import type { Dialects } from "../version.js";
import { inAskedDialect } from "./asked-dialect.js";
import { filesAsText } from "./file-text.js";
import { methods } from "./index.js";
import { jsonRpcOf } from "./jsonrpc.js";
import { rest } from "./rest.js";
import { translate } from "./shared-methods.js";

/** How 0.3 is spoken. */
export const dialects: Dialects = {
  jsonRpc: jsonRpcOf(methods),
  rest,
  translate: inAskedDialect((service, spoken) => filesAsText(translate(service, spoken))),
};
