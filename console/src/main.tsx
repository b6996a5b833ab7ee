import "./ui/tokens.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { watchSession } from "./api/session.js";
import { createConsoleRouter } from "./router.js";

const queries = new QueryClient({
  // The servers are near, and a waiting user wants to see the error soon.
  defaultOptions: { queries: { retry: 1, refetchOnWindowFocus: false, staleTime: 2_000 } },
});
const router = createConsoleRouter(queries);
watchSession(queries, () => void router.invalidate());
const nonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce;

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <CSPProvider {...(nonce !== undefined && { nonce })}>
        <QueryClientProvider client={queries}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  );
}
