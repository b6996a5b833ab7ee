import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport, StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  type CallToolResult,
  CallToolResultSchema,
  type ElicitRequestFormParams,
  ElicitRequestSchema,
  type ElicitResult,
  ErrorCode,
  McpError,
  type Progress,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";

/** An MCP server: a program that is started, or a URL of streamable HTTP. */
export type McpServer =
  | { readonly command: string; readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> }
  | { readonly url: string; readonly headers?: Readonly<Record<string, string>> };

/** A question that a tool asks in the middle of a call. */
export type Question = ElicitRequestFormParams;

/** A call of a tool. */
export interface ToolCall {
  readonly name: string;
  readonly input: Record<string, unknown>;
  readonly signal: AbortSignal;
  onProgress(progress: Progress): void;
  /** Answers a question of the tool. */
  onQuestion(question: Question): ElicitResult;
}

/** Time without a result and without progress after which a call has failed, in milliseconds. */
const TIMEOUT_MS = 300_000;

/**
 * A connection to an MCP server, which is opened again after it broke. Its calls run one after the other: the question
 * of a server does not say which call it belongs to.
 */
export class Connection {
  readonly #server: McpServer;
  #client: Promise<Client> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #present: ToolCall | undefined;

  constructor(server: McpServer) {
    this.#server = server;
  }

  /** Name, version and instructions of the server. */
  async about(): Promise<{ name: string; version: string; instructions: string | undefined }> {
    const client = await this.#open();
    const { title, name, version } = {
      title: undefined,
      ...(client.getServerVersion() ?? { name: "MCP", version: "0" }),
    };
    return { name: title ?? name, version, instructions: client.getInstructions() };
  }

  /** All tools of the server. */
  async tools(): Promise<Tool[]> {
    const client = await this.#open();
    const tools: Tool[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.listTools({ ...(cursor !== undefined && { cursor }) });
      tools.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return tools;
  }

  /** Calls a tool, after the calls before it. An abort is passed on to the server. */
  call(call: ToolCall): Promise<CallToolResult> {
    const turn = this.#last.then(() => this.#call(call));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await (await client)?.close();
  }

  async #call(call: ToolCall): Promise<CallToolResult> {
    call.signal.throwIfAborted();
    this.#present = call;
    try {
      return await callWith(await this.#open(), call);
    } catch (error) {
      if (error instanceof StreamableHTTPError && error.code === 404) {
        // The server has forgotten the session and done nothing: another one begins (MCP, streamable HTTP).
        await this.close();
        return await callWith(await this.#open(), call);
      }
      const isUnfinished =
        call.signal.aborted || (error instanceof McpError && error.code === ErrorCode.RequestTimeout);
      if (isUnfinished) this.#retire();
      throw error;
    } finally {
      this.#present = undefined;
    }
  }

  /** Leaves a connection whose tool may still ask something, which would be taken for a question of the next call. */
  #retire(): void {
    const client = this.#client;
    this.#client = undefined;
    // The cancel is sent before.
    void client?.then(async (opened) => {
      await opened.ping({ timeout: 5_000 }).catch(() => {});
      await opened.close();
    });
  }

  #open(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    const opening = this.#connect(() => {
      if (this.#client === opening) this.#client = undefined;
    });
    this.#client = opening;
    return opening;
  }

  /** Connects. `lost` is called when this fails, and when the connection breaks later. */
  async #connect(lost: () => void): Promise<Client> {
    const client = new Client(
      { name: "parley-mcp-bridge", version: "1.0.0" },
      { capabilities: { elicitation: { form: {} } } },
    );
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      if (!("requestedSchema" in params)) return { action: "decline" };
      return client === (await this.#client) && this.#present ? this.#present.onQuestion(params) : { action: "cancel" };
    });
    client.onclose = lost;
    await client.connect(transportTo(this.#server)).catch((error: unknown) => {
      lost();
      throw error;
    });
    return client;
  }
}

async function callWith(client: Client, { name, input, signal, onProgress }: ToolCall): Promise<CallToolResult> {
  const result = await client.callTool({ name, arguments: input }, CallToolResultSchema, {
    signal,
    onprogress: onProgress,
    timeout: TIMEOUT_MS,
    resetTimeoutOnProgress: true,
  });
  return CallToolResultSchema.parse(result);
}

function transportTo(server: McpServer): Transport {
  if ("command" in server) {
    const { command, args = [], env } = server;
    return new StdioClientTransport({ command, args: [...args], stderr: "inherit", ...(env && { env: { ...env } }) });
  }
  const { url, headers } = server;
  // The class of the package and its own interface differ in optional members.
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { ...headers } } }) as Transport;
}
