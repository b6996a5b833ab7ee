import io.a2a.server.PublicAgentCard;
import io.a2a.server.ExtendedAgentCard;
import io.a2a.spec.AgentCapabilities;
import io.a2a.spec.AgentCard;
import io.a2a.spec.AgentInterface;
import io.a2a.spec.AgentSkill;
import io.a2a.spec.TransportProtocol;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import io.quarkus.runtime.annotations.QuarkusMain;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.inject.Produces;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;

/**
 * Serves an agent with the published Java library for A2A 0.3 over all of its bindings. Prints its URL when it is
 * ready.
 */
@QuarkusMain
public final class Main {
  private static int port;

  public static void main(String[] args) throws Exception {
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    System.setProperty("quarkus.http.port", String.valueOf(port));
    Quarkus.run(Ready.class, args);
  }

  /** Runs when the server listens. */
  public static final class Ready implements QuarkusApplication {
    @Override
    public int run(String... args) {
      System.out.println("http://127.0.0.1:" + System.getProperty("quarkus.http.port"));
      Quarkus.waitForExit();
      return 0;
    }
  }

  /** The cards of the agent. */
  @ApplicationScoped
  public static class Cards {
    @Produces
    @PublicAgentCard
    public AgentCard publicCard() {
      return card("Foreign");
    }

    @Produces
    @ExtendedAgentCard
    public AgentCard extendedCard() {
      return card("Foreign, and more");
    }

    private static AgentCard card(String name) {
      String authority = "127.0.0.1:" + System.getProperty("quarkus.http.port");
      String url = "http://" + authority;
      AgentSkill skill = new AgentSkill.Builder().id("do").name("Do").description("Does it.").tags(List.of("test")).build();
      return new AgentCard.Builder()
          .name(name)
          .description("Does what the first word says.")
          .version("1.0.0")
          .protocolVersion("0.3.0")
          .url(url)
          .preferredTransport(TransportProtocol.JSONRPC.asString())
          .additionalInterfaces(List.of(
              new AgentInterface(TransportProtocol.JSONRPC.asString(), url),
              new AgentInterface(TransportProtocol.HTTP_JSON.asString(), url),
              new AgentInterface(TransportProtocol.GRPC.asString(), authority)))
          .capabilities(new AgentCapabilities.Builder().streaming(true).pushNotifications(false).build())
          .defaultInputModes(List.of("text/plain"))
          .defaultOutputModes(List.of("text/plain"))
          .skills(List.of(skill))
          .supportsAuthenticatedExtendedCard(true)
          .build();
    }
  }
}
