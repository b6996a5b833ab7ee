import type { LoadedVersion } from "../version.js";
import { inAskedDialect } from "./asked-dialect.js";
import { filesAsText } from "./file-text.js";
import { loadedService as service } from "./grpc-service.js";
import { jsonRpcOf } from "./jsonrpc.js";
import { methods } from "./names.js";
import { push } from "./push.js";
import { rest } from "./rest.js";
import { behaveAsV03 } from "./shared-methods.js";

/** The dialects of 0.3. */
export const loaded: LoadedVersion = {
  jsonRpc: jsonRpcOf(methods),
  rest,
  translate: inAskedDialect((service, supported) => filesAsText(behaveAsV03(service, supported))),
  service,
  push,
};
