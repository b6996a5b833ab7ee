import type { Reason } from "../core/error.js";

/** Names and numbers of the errors that an agent reports. The numbers are the same for all bindings. */
export const agentCodes: Readonly<Partial<Record<Reason, readonly [code: string, a2aCode: number]>>> = {
  TASK_NOT_FOUND: ["TaskNotFoundError", -32001],
  TASK_NOT_CANCELABLE: ["TaskNotCancelableError", -32002],
  PUSH_NOTIFICATION_NOT_SUPPORTED: ["PushNotificationNotSupportedError", -32003],
  UNSUPPORTED_OPERATION: ["UnsupportedOperationError", -32004],
  CONTENT_TYPE_NOT_SUPPORTED: ["ContentTypeNotSupportedError", -32005],
  MEDIA_TYPE_NOT_SUPPORTED: ["ContentTypeNotSupportedError", -32005],
  INVALID_AGENT_RESPONSE: ["InvalidAgentResponseError", -32006],
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: ["ExtendedAgentCardNotConfiguredError", -32007],
  EXTENSION_SUPPORT_REQUIRED: ["ExtensionSupportRequiredError", -32008],
  VERSION_NOT_SUPPORTED: ["VersionNotSupportedError", -32009],
  PARSE_ERROR: ["JSONParseError", -32700],
  INVALID_REQUEST: ["InvalidRequestError", -32600],
  METHOD_NOT_FOUND: ["MethodNotFoundError", -32601],
  METHOD_NOT_ALLOWED: ["MethodNotFoundError", -32601],
  INVALID_PARAMS: ["InvalidParamsError", -32602],
  INTERNAL: ["InternalError", -32603],
  TASK_DAMAGED: ["InternalError", -32603],
};
