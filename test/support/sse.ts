/** One frame of an event stream (HTML standard, section 9.2): its `data`, joined, and its `id`. */
export interface SseFrame {
  readonly data: string;
  readonly id: string | undefined;
}

/** The frames of an event stream, as they arrive; comments and empty frames are passed over. */
export async function* readSse(body: AsyncIterable<Uint8Array>): AsyncGenerator<SseFrame> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split(/\r\n\r\n|\n\n|\r\r/);
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const frame = frameOf(block);
      if (frame !== undefined) yield frame;
    }
  }
}

function frameOf(block: string): SseFrame | undefined {
  const data: string[] = [];
  let id: string | undefined;
  for (const line of block.split(/\r\n|\n|\r/)) {
    const at = line.indexOf(":");
    const name = at === -1 ? line : line.slice(0, at);
    const value = at === -1 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    if (name === "id") id = value;
  }
  return data.length === 0 ? undefined : { data: data.join("\n"), id };
}
