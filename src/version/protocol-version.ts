/** Version of the service and its cards: major and minor, without a patch number (specification 3.6). */
export const PROTOCOL_VERSION = "1.0";
