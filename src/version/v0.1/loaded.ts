import type { LoadedVersion } from "../version.js";
import { behaveAsV01 } from "./behaviour.js";
import { jsonRpc } from "./jsonrpc.js";
import { push } from "./push.js";

/** The dialects of 0.1, which has only JSON-RPC. */
export const loaded: LoadedVersion = { jsonRpc, translate: behaveAsV01, push };
