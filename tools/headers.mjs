/** The class of the library that commands send requests with, in place of the global one. */
export { Headers } from "undici/lib/web/fetch/headers.js";
