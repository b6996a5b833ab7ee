import { createFetchHandler, type FetchHandler } from "../http/fetch/handler.js";
import { createHostCheck } from "../http/hosts.js";
import { createNodeHandler, type NodeHandler } from "../http/node/handler.js";
import { rejectionAudit } from "./compose-http.js";
import type { NodeComponents } from "./compose-node.js";
import { composeConsole } from "./console.js";
import { createDispatch } from "./dispatch.js";
import type { ConsoleSettings, Settings } from "./options.js";
import { agentPath } from "./page-route.js";
import { createProxies } from "./proxies.js";
import { consoleBinding } from "./served-console.js";

/** Creates the handlers of a console in an existing server. */
export function composeConsoleMount(
  settings: Settings,
  options: ConsoleSettings,
  components: NodeComponents,
): { readonly handler: NodeHandler; readonly fetch: FetchHandler; readonly close: () => void } {
  const { agents, publicUrl, basePath, allowedHosts, logger, audit } = settings;
  const base = publicUrl ?? basePath;
  const show = (token: string): void =>
    logger.info({ link: `console/#token=${token}` }, "this link opens the console once, below the path of its handler");
  const composed = composeConsole(settings, options, components, {
    agents: () => agents.all.map((each) => ({ name: each.card.name, url: base + agentPath(each) || "/", own: true })),
    onNextToken: show,
  });
  if (composed.link !== undefined) show(composed.link.current);
  const binding = consoleBinding(() => composed);
  const answering = createDispatch({
    // A page of another name must not reach a console that opens without credentials.
    hosts: createHostCheck({ allowed: options.isLocal && allowedHosts === true ? [] : allowedHosts }),
    routes: [],
    bindings: [binding],
    fallback: { notFound: () => ({ status: 404 }), refuse: binding.refuse },
    basePath,
  });
  const proxies = createProxies(settings.trust, settings.proxyHeaders);
  const dispatch = audit === undefined ? answering : { ...answering, onRejection: rejectionAudit(audit, proxies) };
  const close = (): void => composed.console.close();
  return { handler: createNodeHandler(dispatch, logger), fetch: createFetchHandler(dispatch, logger), close };
}
