import type { ServiceShape } from "../version.js";

/** Properties of a method that bindings need before its service is loaded. */
const method = (name: string, { isStream = false, isRead = false } = {}) => ({ name, isStream, isRead });

/** The service of A2A 0.3 for gRPC and Connect, by the names that its calls have. */
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
