import type { ProtocolVersion } from "../version.js";
import { grpcService } from "./grpc.js";

/** Methods over JSON-RPC, and what they are called since. */
export const methods: Readonly<Record<string, string>> = {
  "message/send": "SendMessage",
  "message/stream": "SendStreamingMessage",
  "tasks/get": "GetTask",
  "tasks/cancel": "CancelTask",
  "tasks/resubscribe": "SubscribeToTask",
  "tasks/pushNotificationConfig/set": "CreateTaskPushNotificationConfig",
  "tasks/pushNotificationConfig/get": "GetTaskPushNotificationConfig",
  "tasks/pushNotificationConfig/list": "ListTaskPushNotificationConfigs",
  "tasks/pushNotificationConfig/delete": "DeleteTaskPushNotificationConfig",
  "agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
};

/** A2A 0.3: what its calls are recognised by. All else of it is loaded with the first of them. */
export const v03: ProtocolVersion = {
  name: "0.3",
  interfaces: ["jsonRpc", "rest", "grpc"],
  isUnnamed: true,
  methods,
  paths: ["/v1/"],
  grpc: grpcService,
  connect: grpcService,
  extensionsParameter: "x-a2a-extensions",
  load: async () => (await import("./dialects.js")).dialects,
};
