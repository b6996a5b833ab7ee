/** Templates of `parley init`, with a line for the help. They are folders of `templates/`. */
export const templates: Readonly<Record<string, string>> = {
  plain: "an agent in one file, served by parley",
  "ai-sdk": "a model with a tool, by the AI SDK; runs without a key on an offline model",
  express: "an agent in an Express app",
  fastify: "an agent in a Fastify app",
};

/** Name of the package and of the agent in the files of a template. */
export const TEMPLATE_NAME = "my-agent";

/** Options of `init` as commander returns them. */
export interface InitOptions {
  readonly template?: string;
  readonly name?: string;
  readonly package?: string;
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly install?: boolean;
}
