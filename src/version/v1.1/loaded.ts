import { jsonRpcOf } from "../jsonrpc.js";
import { restOf } from "../rest.js";
import type { LoadedVersion } from "../version.js";
import { service } from "./contract.js";
import { translate } from "./translate.js";

/** How 1.1 is spoken. */
export const loaded: LoadedVersion = {
  jsonRpc: jsonRpcOf(service),
  rest: restOf(service),
  translate,
  service: { service, translate },
};
