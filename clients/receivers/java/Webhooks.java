import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Is this webhook from the bridge? Standard Webhooks, scheme v1, with nothing but the JDK. */
final class Webhooks {
  /** Clocks may differ by this much, and a request may not be older. */
  private static final long TOLERANCE_SECONDS = 300;
  /** A shorter secret is none, e.g. a setting that is empty. */
  private static final int SHORTEST_SECRET_BYTES = 24;

  private Webhooks() {}

  /**
   * Takes the secret as the bridge gave it (whsec_…), the three headers ("" where one is missing) and the body as it came,
   * before anything parses it. Throws IllegalArgumentException where the secret is none.
   */
  static boolean isGenuine(
      String secret, String id, String timestamp, String signature, byte[] body, long nowSeconds)
      throws GeneralSecurityException {
    byte[] key = Base64.getDecoder().decode(secret.replaceFirst("^whsec_", ""));
    if (key.length < SHORTEST_SECRET_BYTES) {
      throw new IllegalArgumentException("the webhook secret is missing or cut");
    }
    if (id.isEmpty() || !timestamp.matches("[0-9]{1,12}")) {
      return false;
    }
    if (Math.abs(nowSeconds - Long.parseLong(timestamp)) > TOLERANCE_SECONDS) {
      return false;
    }
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(key, "HmacSHA256"));
    mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
    byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(StandardCharsets.UTF_8);
    // One for each secret: two while a secret is being replaced.
    for (String given : signature.split(" ")) {
      if (MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), expected)) {
        return true;
      }
    }
    return false;
  }
}
