import type { Dialects } from "../version.js";
import { inAskedDialect } from "./asked-dialect.js";
import { behave } from "./behaviour.js";
import { methods } from "./index.js";
import { jsonRpcOf } from "./jsonrpc.js";
import { rest } from "./rest.js";

/** How 0.3 is spoken. */
export const dialects: Dialects = { jsonRpc: jsonRpcOf(methods), rest, translate: inAskedDialect(behave) };
