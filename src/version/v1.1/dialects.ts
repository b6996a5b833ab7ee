import { errorEnvelope } from "../../wire/jsonrpc-envelope.js";
import { type JsonRpcDialect, jsonRpcOf } from "../jsonrpc.js";
import type { LoadedService } from "../lazy-service.js";
import { restOf } from "../rest.js";
import type { Dialects } from "../version.js";
import { service } from "./contract.js";
import { translate } from "./translate.js";

/** The code of a message that comes at another generation than it expects: 1.1 gives the error one of its own. */
const MISMATCH = -32010;

const jsonRpc: JsonRpcDialect = {
  ...jsonRpcOf(service),
  error: (id, error) => errorEnvelope(id, error, error.reason === "GENERATION_MISMATCH" ? MISMATCH : undefined),
};

/** How 1.1 is spoken. */
export const dialects: Dialects = { jsonRpc, rest: restOf(service), translate };

/** Its service, for gRPC and Connect. */
export const loadedService: LoadedService = { service, translate };
