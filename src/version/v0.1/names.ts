/** Methods over JSON-RPC, with their names in 1.0. */
export const methods: Readonly<Record<string, string>> = {
  "tasks/send": "SendMessage",
  "tasks/sendSubscribe": "SendStreamingMessage",
  "tasks/get": "GetTask",
  "tasks/cancel": "CancelTask",
  "tasks/resubscribe": "SubscribeToTask",
  "tasks/pushNotification/set": "CreateTaskPushNotificationConfig",
  "tasks/pushNotification/get": "GetTaskPushNotificationConfig",
};
