import { register } from "node:module";

/** Resolves the NATS client from the packages of the interop tests, because `npm ci` does not install it. */
const parent = new URL("../interop/package.json", import.meta.url).href;
const hook = `export const resolve = (name, context, next) =>
  next(name, name.startsWith("@nats-io/") && !context.parentURL.includes("@nats-io")
    ? { ...context, parentURL: ${JSON.stringify(parent)} } : context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
