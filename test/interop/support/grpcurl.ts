import { join } from "node:path";
import { installed, succeed } from "./tool.js";

const version = "v1.9.4";

/** Installs grpcurl. Returns its path. */
export async function grpcurlProgram(): Promise<string> {
  const folder = await installed({
    name: `grpcurl-${version}`,
    needs: "Go 1.24 or later in the PATH, and access to Go modules",
    install: async (into) => {
      const module = `github.com/fullstorydev/grpcurl/cmd/grpcurl@${version}`;
      await succeed("go", ["install", module], { env: { ...process.env, GOBIN: into } });
    },
  });
  return join(folder, "grpcurl");
}
