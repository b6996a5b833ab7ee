import type { HttpAnswer, HttpClient } from "../../src/client/platform.js";
import { A2AError } from "../../src/core/error.js";

/** An HTTP client that uses the runtime's fetch. */
export const fetchHttp: HttpClient = async ({ url, method, headers, body, signal }) => {
  const response = await fetch(url, {
    method,
    headers: [...headers],
    redirect: "manual",
    ...(body === undefined ? {} : { body }),
    ...(signal === undefined ? {} : { signal: signal as AbortSignal }),
  }).catch((cause) => {
    throw new A2AError("UNAVAILABLE", "No answer.", { cause });
  });
  const answer: HttpAnswer = {
    status: response.status,
    contentType: response.headers.get("content-type") ?? "",
    headers: response.headers,
    text: async (maxBytes) => {
      let text = "";
      const decoder = new TextDecoder();
      let size = 0;
      for await (const chunk of response.body ?? []) {
        size += chunk.length;
        if (size > maxBytes)
          throw new A2AError("INVALID_AGENT_RESPONSE", `The answer has more than ${maxBytes} bytes.`);
        text += decoder.decode(chunk, { stream: true });
      }
      return text;
    },
    chunks: () => response.body as AsyncIterable<Uint8Array>,
    read: async (take) => {
      for await (const chunk of response.body ?? []) take(chunk);
    },
    cancel: () => void response.body?.cancel().catch(() => {}),
  };
  return answer;
};
