// Serves agents beside the routes of a Fastify app. Imports only types of Fastify.

import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from "fastify";
import type { A2A } from "./server/create-a2a.js";

/** Options of the plugin, besides Fastify's `prefix`. */
export interface ParleyFastifyOptions {
  readonly a2a: Pick<A2A, "handler">;
}

/**
 * Serves agents in a Fastify app: `app.register(parleyFastify, { a2a })`, below a path with `{ a2a, prefix: "/agents" }`.
 * The app's own routes take precedence. Requests that are not for an agent go to the app's not-found handler. The app's
 * body parsers and other plugins are not affected. The app's hooks up to `preHandler` run, and `onResponse`. The app
 * starts and closes `a2a` itself.
 *
 * @throws from `ready()` or `listen()`, if the prefix has parameters, or the app has a route of `/*` at the same path.
 */
export const parleyFastify: FastifyPluginCallback<ParleyFastifyOptions> = (scope, { a2a }, done) => {
  if (typeof a2a?.handler !== "function") return done(new TypeError("parleyFastify needs { a2a }, made by createA2A"));
  const { prefix } = scope;
  if (/[:*]/.test(prefix)) return done(new TypeError(`the prefix ${prefix} has parameters: the card cannot name it`));
  // The handler reads bodies itself, with its own limits.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null));
  const handle = (request: FastifyRequest, reply: FastifyReply): void => serve(a2a, prefix, request, reply);
  scope.all("/*", handle);
  // JSON-RPC is served at the prefix itself.
  if (prefix !== "") scope.route({ method: ["POST", "OPTIONS"], url: "", handler: handle });
  done();
};

/** A request with the path that a framework such as Express has removed from its URL. */
interface Mounted {
  url?: string | undefined;
  originalUrl?: string;
  baseUrl?: string;
}

function serve(a2a: ParleyFastifyOptions["a2a"], prefix: string, request: FastifyRequest, reply: FastifyReply): void {
  const raw: FastifyRequest["raw"] & Mounted = request.raw;
  const { url = "/" } = raw;
  if (prefix !== "") {
    const below = url.slice(prefix.length);
    raw.originalUrl = url;
    raw.baseUrl = prefix;
    raw.url = below.startsWith("/") ? below : `/${below}`;
  }
  let isOurs = true;
  a2a.handler(raw, reply.raw, () => {
    isOurs = false;
    raw.url = url;
    reply.callNotFound();
  });
  // The handler answers instead of Fastify.
  if (isOurs) reply.hijack();
}
