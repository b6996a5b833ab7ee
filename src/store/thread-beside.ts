/**
 * Arguments of Node.js for a thread that is started from its source, which the file beside the starter is in tests; none
 * when built. A new thread does not always inherit the TypeScript loader (Node 20), so it is registered again.
 * @param url the starter's `import.meta.url`
 */
export function sourceLoader(url: string): { readonly execArgv?: string[] } {
  if (!url.endsWith(".ts")) return {};
  const loader = `import { register } from "node:module"; register("tsx/esm", "${url}", { data: {} });`;
  return { execArgv: ["--import", `data:text/javascript,${encodeURIComponent(loader)}`] };
}
