import { register } from "node:module";

/** Finds the client of NATS among the packages of the interop tests, as the first install does not have it. */
const parent = new URL("../interop/package.json", import.meta.url).href;
const hook = `export const resolve = (name, context, next) =>
  next(name, name.startsWith("@nats-io/") && !context.parentURL.includes("@nats-io")
    ? { ...context, parentURL: ${JSON.stringify(parent)} } : context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
