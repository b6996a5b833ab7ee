import { jsonRpcOf } from "../jsonrpc.js";
import type { LoadedService } from "../lazy-service.js";
import { restOf } from "../rest.js";
import type { Dialects } from "../version.js";
import { service } from "./contract.js";
import { translate } from "./translate.js";

/** How 1.1 is spoken. */
export const dialects: Dialects = { jsonRpc: jsonRpcOf(service), rest: restOf(service), translate };

/** Its service, for gRPC and Connect. */
export const loadedService: LoadedService = { service, translate };
