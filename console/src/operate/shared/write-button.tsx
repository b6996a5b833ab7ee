import type { ComponentProps, ReactNode } from "react";
import { operateWords } from "../../texts/operate.js";
import { Button, css } from "../../ui/parts.js";
import { useMayWrite } from "../tasks/role.js";

/**
 * A button for operators with the role `write`. Others get it disabled, with the reason. It can still be reached by the
 * keyboard, so that everybody finds the reason.
 */
export function WriteButton({ onClick, title, children, type, ...rest }: ComponentProps<typeof Button>): ReactNode {
  const mayWrite = useMayWrite();
  if (mayWrite) {
    return (
      <Button {...rest} type={type} title={title} onClick={onClick}>
        {children}
      </Button>
    );
  }
  return (
    <Button
      {...rest}
      aria-disabled="true"
      title={operateWords.readOnly}
      {...(rest.icon === true && { "aria-label": title })}
    >
      {children}
      <span className={css.hidden}>{operateWords.readOnlyReason}</span>
    </Button>
  );
}
