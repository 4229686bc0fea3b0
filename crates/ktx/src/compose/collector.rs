//! The trace collector over the shared HTTP client.

use async_trait::async_trait;
use ktx_observability::{Delivery, DeliveryReceipt, SpanShipment};
use ktx_provider_adapters::{JsonPoster, Proxy};

pub(crate) fn collector() -> Result<Box<dyn Delivery>, String> {
    let poster = JsonPoster::new(&Proxy::System).map_err(|error| error.to_string())?;
    Ok(Box::new(Collector(poster)))
}

struct Collector(JsonPoster);

#[async_trait]
impl Delivery for Collector {
    async fn post(&self, shipment: SpanShipment<'_>) -> Result<DeliveryReceipt, String> {
        let SpanShipment {
            url,
            headers,
            body,
            timeout,
        } = shipment;
        let posted = self.0.post(url, headers, body, timeout).await;
        let reply = posted.map_err(|error| format!("the collector: {error}"))?;
        Ok(DeliveryReceipt {
            status: reply.status,
            retry_after: reply.retry_after,
            body: reply.body,
        })
    }
}
