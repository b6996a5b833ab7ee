/**
 * The types of the AI SDK that `src/ai` uses, as in its versions 6 and 7. The first install has no AI SDK; with its own
 * types `src/ai` is compiled by `examples/agents` and `test/interop`.
 */
declare module "ai" {
  type Json = import("@bufbuild/protobuf").JsonValue;

  export type LanguageModel = string | { readonly specificationVersion: string; readonly modelId: string };

  export interface TextPart {
    type: "text";
    text: string;
  }

  export interface FilePart {
    type: "file";
    data: Uint8Array | URL | string;
    mediaType: string;
    filename?: string;
  }

  export interface ToolCallPart {
    type: "tool-call";
    toolCallId: string;
    toolName: string;
    input: unknown;
    providerExecuted?: boolean;
  }

  export interface ToolResultPart {
    type: "tool-result";
    toolCallId: string;
    toolName: string;
    output:
      | { type: "text" | "error-text"; value: string }
      | { type: "json" | "error-json"; value: Json }
      | { type: "execution-denied"; reason?: string };
  }

  export type ModelMessage =
    | { role: "system"; content: string }
    | { role: "user"; content: string | (TextPart | FilePart)[] }
    | { role: "assistant"; content: string | (TextPart | FilePart | ToolCallPart | ToolResultPart)[] }
    | { role: "tool"; content: ToolResultPart[] };

  interface ToolExecutionOptions {
    toolCallId: string;
    messages: ModelMessage[];
    abortSignal?: AbortSignal;
  }

  export type ToolSet = Record<
    string,
    {
      /** Tells the model what the tool does. */
      description?: string;
      /** Schema of the input. */
      inputSchema: unknown;
      /** Runs the tool. Without it, the user is asked. */
      // biome-ignore lint/suspicious/noExplicitAny: a tool's own type
      execute?: (input: any, options: ToolExecutionOptions) => unknown;
      /** True if the user has to allow the call. */
      // biome-ignore lint/suspicious/noExplicitAny: a tool's own type
      needsApproval?: boolean | ((input: any, options: ToolExecutionOptions) => boolean | PromiseLike<boolean>);
      /** Returns the result as the model gets it. */
      toModelOutput?: (options: {
        toolCallId: string;
        input: unknown;
        output: unknown;
      }) => ToolResultPart["output"] | PromiseLike<ToolResultPart["output"]>;
    }
  >;

  export function streamText(options: {
    model: LanguageModel;
    messages: ModelMessage[];
    system?: string;
    tools?: ToolSet;
    toolChoice?: "auto" | "none" | "required" | { type: "tool"; toolName: string };
    stopWhen?: () => boolean;
    abortSignal?: AbortSignal;
    experimental_download?: (files: unknown[]) => Promise<null[]>;
    onError?: () => void;
    frequencyPenalty?: number;
    headers?: Record<string, string | undefined>;
    maxOutputTokens?: number;
    maxRetries?: number;
    presencePenalty?: number;
    providerOptions?: Record<string, Record<string, Json>>;
    seed?: number;
    stopSequences?: string[];
    temperature?: number;
    topK?: number;
    topP?: number;
  }): {
    readonly fullStream: AsyncIterable<unknown>;
    readonly response: PromiseLike<{ readonly messages: ModelMessage[] }>;
  };
}
