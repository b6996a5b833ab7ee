import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { codes, errorObject } from "../v0.3/errors.js";
import { jsonRpcOf, writeCardAs } from "../v0.3/jsonrpc.js";
import { push } from "../v0.3/push.js";
import { cardEndpoint, rest } from "../v0.3/rest.js";
import { behaveAsV03 } from "../v0.3/shared-methods.js";
import type { LoadedVersion } from "../version.js";
import { cardToV02 } from "./card.js";
import { EXTENDED_CARD_PATH, methods } from "./names.js";

/** 0.2 lacks one code of 0.3: a missing extended card is an unsupported operation. */
const fewer = { ...codes, EXTENDED_AGENT_CARD_NOT_CONFIGURED: -32004 };

/** The dialects of 0.2. Over HTTP+JSON it has only the extended card. */
export const loaded: LoadedVersion = {
  jsonRpc: jsonRpcOf(methods, fewer),
  rest: {
    ...rest,
    endpoints: [cardEndpoint(EXTENDED_CARD_PATH, (card: AgentCard) => writeCardAs(card, cardToV02))],
    error: (error) => JSON.stringify(errorObject(error, fewer)),
  },
  translate: behaveAsV03,
  push,
};
