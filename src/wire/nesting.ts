/**
 * Limits of nesting, in one place because each depends on another. Protobuf counts messages: a JSON object or list
 * inside a `google.protobuf.Value` takes two levels. They are not options, because they follow from the limits of
 * protobuf readers and from the stack.
 */

/** Levels of messages at which readers of binary protobuf stop, including those of clients. */
export const MESSAGE_LEVELS = 100;

/**
 * Levels of messages in a JSON request. The log and gRPC clients carry a request inside larger messages. Ten levels are
 * reserved for those, so that every accepted request can be carried everywhere.
 */
export const REQUEST_LEVELS = 90;

/** Levels of JSON in a value of a binary request: two levels of messages each, plus the messages around them. */
export const REQUEST_JSON_LEVELS = 43;

/** Levels of JSON in a value of an agent: two levels of messages each, so that its stored entry stays below MESSAGE_LEVELS. */
export const EVENT_JSON_LEVELS = 40;

/** Levels at which counting the values of an agent's event stops. Copying the event then rejects deeper values. */
export const COUNTED_EVENT_LEVELS = 100;

/**
 * Levels of Struct, Value and ListValue that are written as JSON. Deeper values are a violation and are not written.
 */
export const WRITTEN_JSON_LEVELS = 100;

/**
 * Levels of messages in a stored entry. The limit of a request does not count the entry around it, so this one is
 * larger, and every stored entry can be read again.
 */
export const STORED_LEVELS = 200;

/**
 * Levels of JSON that Connect's own reader accepts, and beyond which a large text is not parsed. The effective limit is
 * the codec's (REQUEST_LEVELS), which reports the place of the violation. This one is far enough above it, and still
 * safe for the stack.
 */
export const UNCHECKED_JSON_LEVELS = 400;
