import { type A2AClient, type Binding, connect, textOf } from "parley-a2a/client";
import { useConversation } from "parley-a2a/client/react";
import { Suspense, use } from "react";
import { createRoot } from "react-dom/client";

// The page is told whom to call: /?agent=http://localhost:8080, and over what: &binding=JSONRPC.
const asked = new URLSearchParams(location.search);
const prefer = asked.getAll("binding") as Binding[];
const client = connect(asked.get("agent") ?? location.origin, { prefer });

function Chat({ client }: { readonly client: Promise<A2AClient> }) {
  const { turns, isStreaming, send, stop } = useConversation(use(client), { storage: sessionStorage });
  const say = (form: FormData) => void send(String(form.get("text")));
  return (
    <main>
      {turns.map(({ id, message, text, progress, phase, error }) => (
        <article key={id} data-phase={phase} aria-busy={phase === "streaming"}>
          <h2>{textOf(message)}</h2>
          <p aria-live="polite">{text}</p>
          <small>{error?.message ?? progress}</small>
        </article>
      ))}
      <form action={isStreaming ? stop : say}>
        <input name="text" aria-label="Message" placeholder="Say something" disabled={isStreaming} required />
        <button type="submit">{isStreaming ? "Stop" : "Send"}</button>
      </form>
    </main>
  );
}

createRoot(document.querySelector("#page") as HTMLElement).render(
  <Suspense fallback="Looking for the agent…">
    <Chat client={client} />
  </Suspense>,
);
