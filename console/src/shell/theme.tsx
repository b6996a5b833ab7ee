import { Monitor, Moon, Sun } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { words } from "../texts/words.js";
import { Button } from "../ui/parts.js";

type Theme = "system" | "light" | "dark";

const KEY = "parley-console-theme";
const themes: readonly Theme[] = ["system", "light", "dark"];
const icons = { system: Monitor, light: Sun, dark: Moon };

/** Goes through the themes: that of the system, light and dark. */
export function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState<Theme>(
    () => themes.find((each) => each === localStorage.getItem(KEY)) ?? "system",
  );
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem(KEY, theme);
  }, [theme]);
  const Icon = icons[theme];
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? "system";
  return (
    <Button kind="plain" icon title={`${words.theme.label}: ${words.theme[theme]}`} onClick={() => setTheme(next)}>
      <Icon size={16} aria-hidden="true" />
    </Button>
  );
}
