import { join } from "node:path";
import { apt, hasApt, installed, run, succeed } from "./tool.js";

/** The Python of an environment of its own with these requirements. @param name another one is another installation. */
export async function pythonWith(name: string, requirements: string): Promise<string> {
  const folder = await installed({
    name,
    needs: "Python 3.10 or later as python3, with its venv module (Debian: python3-venv), and access to PyPI",
    install: async (into) => {
      // Debian's Python comes without what makes environments.
      const { code } = await run("python3", ["-c", "import ensurepip"]);
      if (code !== 0 && hasApt()) await apt("python3-venv");
      await succeed("python3", ["-m", "venv", into]);
      const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
      await succeed(join(into, "bin", "python"), [...pip, "-r", requirements]);
    },
  });
  return join(folder, "bin", "python");
}
