import type { Dialects } from "../version.js";
import { translate } from "./behaviour.js";
import { jsonRpc } from "./jsonrpc.js";

/** How 0.1 is spoken: over JSON-RPC alone. */
export const dialects: Dialects = { jsonRpc, translate };
