import type { LoadedVersion } from "../version.js";
import { translate } from "./behaviour.js";
import { jsonRpc } from "./jsonrpc.js";
import { push } from "./push.js";

/** How 0.1 is spoken: over JSON-RPC alone. */
export const loaded: LoadedVersion = { jsonRpc, translate, push };
