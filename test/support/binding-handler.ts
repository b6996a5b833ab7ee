import type { HttpBinding } from "../../src/binding/binding.js";
import { A2AError } from "../../src/core/error.js";
import { type Logger, silentLogger } from "../../src/core/log.js";
import { createNodeHandler, type NodeHandler } from "../../src/http/node/handler.js";
import type { HttpResponse } from "../../src/http/response.js";

/**
 * A handler of Node for one binding, below a path that the handler is mounted at.
 *
 * @param answered hears of every answer that the binding promises.
 */
export function handlerOf(
  binding: HttpBinding,
  logger: Logger = silentLogger,
  answered: (answer: Promise<HttpResponse>, path: string) => void = () => {},
  mount = "",
): NodeHandler {
  return createNodeHandler(
    {
      answer: (request) => {
        const [url = "", query = ""] = request.url.split(/\?(.*)/s);
        const path = url.startsWith(mount) ? url.slice(mount.length) : url;
        request.target = { path, query, headers: [] };
        const match = binding.match(request.method, path);
        if (match === undefined) return undefined;
        const answer = binding.handle(request, match);
        answered(answer, path);
        return answer;
      },
      notFound: (request) => binding.refuse(request, new A2AError("METHOD_NOT_FOUND", "Nothing is served here.")),
    },
    logger,
  );
}
