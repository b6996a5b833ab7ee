/**
 * How deep values may nest, all bounds in one place, since each rests on another. Protobuf counts messages: a JSON object
 * or list inside a `google.protobuf.Value` takes two levels. None of them is an option: they follow from what readers of
 * protobuf accept, and from the stack.
 */

/** Levels of messages at which readers of protobuf's bytes stop, those of clients included. */
export const MESSAGE_LEVELS = 100;

/**
 * Levels of messages in a request of JSON. What is read becomes part of larger messages on its way into the log and to
 * gRPC clients; with ten levels kept free for those, whatever is accepted can be carried everywhere.
 */
export const REQUEST_LEVELS = 90;

/** Levels of JSON in a value of a binary request: two levels of messages each, and the messages around them. */
export const REQUEST_JSON_LEVELS = 43;

/** Levels of JSON in a value of an agent: two levels of messages each, so that its stored entry stays below MESSAGE_LEVELS. */
export const EVENT_JSON_LEVELS = 40;

/** Levels at which counting the values of an agent's event stops; what is deeper is refused when it is copied. */
export const COUNTED_EVENT_LEVELS = 100;

/** Levels of Struct, Value and ListValue that are written as JSON: deeper values are a fault, and are not followed. */
export const WRITTEN_JSON_LEVELS = 100;

/** What was stored can be read again: the bound of a request counts from the request, not from the entry around it. */
export const STORED_LEVELS = 200;

/**
 * Levels of JSON that Connect's own reader takes, and beyond which a large text is not parsed. The bound that counts is the codec's
 * (REQUEST_LEVELS), which says where the fault is; this one is far enough behind it, and near enough for the stack.
 */
export const UNCHECKED_JSON_LEVELS = 400;
