import { cards } from "./cards.js";
import type { Case } from "./case.js";
import { grpcCases } from "./grpc-0.3.js";
import { jsonRpc01 } from "./jsonrpc-0.1.js";
import { jsonRpc01Tasks } from "./jsonrpc-0.1-tasks.js";
import { jsonRpc02 } from "./jsonrpc-0.2.js";
import { jsonRpcErrors } from "./jsonrpc-0.3-errors.js";
import { jsonRpcMessages } from "./jsonrpc-0.3-messages.js";
import { jsonRpcParts } from "./jsonrpc-0.3-parts.js";
import { jsonRpcPush } from "./jsonrpc-0.3-push.js";
import { jsonRpcTasks } from "./jsonrpc-0.3-tasks.js";
import { mixed } from "./mixed.js";
import { restCases } from "./rest-0.3.js";

export const cases: readonly Case[] = [
  ...cards,
  ...jsonRpcParts,
  ...jsonRpcMessages,
  ...jsonRpcTasks,
  ...jsonRpcPush,
  ...jsonRpcErrors,
  ...restCases,
  ...grpcCases,
  ...jsonRpc02,
  ...jsonRpc01Tasks,
  ...jsonRpc01,
  ...mixed,
];
