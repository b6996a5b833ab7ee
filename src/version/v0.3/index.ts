import { lazyImport } from "../../core/lazy.js";
import { WELL_KNOWN_PATH } from "../../wire/card-names.js";
import type { ProtocolVersion, ServiceShape } from "../version.js";
import { example, methods } from "./names.js";

/** Properties of a method that bindings need before its service is loaded. */
const method = (name: string, { isStream = false, isRead = false } = {}) => ({ name, isStream, isRead });

/** The service of A2A 0.3 for gRPC and Connect, with the names in its calls. */
export const grpcService: ServiceShape = {
  typeName: "a2a.v1.A2AService",
  methods: [
    method("SendMessage"),
    method("SendStreamingMessage", { isStream: true }),
    method("GetTask", { isRead: true }),
    method("CancelTask"),
    method("TaskSubscription", { isStream: true }),
    method("CreateTaskPushNotificationConfig"),
    method("GetTaskPushNotificationConfig", { isRead: true }),
    method("ListTaskPushNotificationConfig", { isRead: true }),
    method("GetAgentCard", { isRead: true }),
    method("DeleteTaskPushNotificationConfig"),
  ],
};

/** A2A 0.3: the tables that recognize its calls. `loaded.ts` has all other parts. */
export const v03: ProtocolVersion = {
  name: "0.3",
  interfaces: ["jsonRpc", "rest", "grpc"],
  isUnnamed: true,
  methods,
  paths: ["/v1/"],
  grpc: grpcService,
  connect: grpcService,
  extensionsParameter: "x-a2a-extensions",
  card: {
    path: WELL_KNOWN_PATH,
    isSigned: true,
    load: lazyImport(async () => (await import("./card.js")).cards),
  },
  example: {
    params: example,
    body: { message: { messageId: "1", role: "ROLE_USER", content: [{ text: "hello" }] } },
  },
  load: lazyImport(async () => (await import("./loaded.js")).loaded),
};
