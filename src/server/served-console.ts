import type { HttpBinding } from "../binding/binding.js";
import { consolePath } from "../console/path.js";
import { defined } from "../core/members.js";
import { rejectionOf } from "../http/response.js";
import type { NodeComponents } from "./compose-node.js";
import type { ComposedConsole } from "./console.js";
import type { ConsoleSettings, Settings } from "./options.js";
import { agentPath } from "./page-route.js";

/** The console on the port of a server. Its code is loaded when the port is open. */
export class ServedConsole {
  /** Goes before the other bindings. */
  readonly binding: HttpBinding<string>;
  readonly #settings: Settings;
  readonly #options: ConsoleSettings;
  #opened: ComposedConsole | undefined;
  #url = "";

  constructor(settings: Settings, options: ConsoleSettings) {
    this.#settings = settings;
    this.#options = options;
    this.binding = consoleBinding(() => defined(this.#opened));
  }

  /** Loads the console. @param url of the server for browsers on this machine */
  async open(components: NodeComponents, url: string): Promise<void> {
    const { agents, basePath, logger } = this.#settings;
    const { composeConsole } = await import("./console.js");
    this.#url = `${url}${basePath}/console/`;
    this.#opened = composeConsole(this.#settings, this.#options, components, {
      agents: (mount) =>
        agents.all.map((each) => ({ name: each.card.name, url: mount + agentPath(each) || "/", own: true })),
      onNextToken: () => logger.info({ url: this.url }, "the console was opened; this link opens it once more"),
    });
  }

  /** Ends the calls that it passes on. */
  close(): void {
    this.#opened?.console.close();
  }

  /** URL that opens the console, with its one-time token if it has one. */
  get url(): string {
    const token = this.#opened?.link?.current;
    return token === undefined ? this.#url : `${this.#url}#token=${token}`;
  }
}

/** Returns the binding of a console. @param opened returns the console, which the first request may load */
export function consoleBinding(opened: () => ComposedConsole | Promise<ComposedConsole>): HttpBinding<string> {
  return {
    match: (_verb, path) => consolePath(path),
    handle: async (request, path) => (await opened()).console.handle(request, path),
    refuse: (_request, error) => ({
      status: error.row.http,
      type: "application/json",
      headers: error.headers,
      body: JSON.stringify({ error: error.message }),
      rejections: [rejectionOf("console", error)],
    }),
  };
}
